
n = "many"
list = {}
