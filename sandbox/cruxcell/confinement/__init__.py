"""How a zygote and its workers are confined: the steps, and what each speaks to the kernel."""
