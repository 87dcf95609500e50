gate = "two"
