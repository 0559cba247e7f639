"""What the tests of several folders share: daemons to talk to, facts to wait for, tasks and certificates to send."""
