req = null
n = null
