a = "tests"
