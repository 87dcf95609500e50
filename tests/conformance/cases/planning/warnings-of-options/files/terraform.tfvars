undeclared = 1
