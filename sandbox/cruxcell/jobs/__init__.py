"""What a worker can be asked to do: one function a kind of job, and what they share."""
