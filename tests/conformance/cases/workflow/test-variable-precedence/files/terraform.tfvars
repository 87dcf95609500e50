b = "tfvars"
c = "tfvars"
d = "tfvars"
