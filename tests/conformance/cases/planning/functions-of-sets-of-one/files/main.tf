resource "terraform_data" "z" { input = "q" }
output "o0" { value = sort((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))) }
output "o1" { value = tolist((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))) }
output "o2" { value = one((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))) }
output "o3" { value = one((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))) == null }
output "o4" { value = length((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))) }
output "o5" { value = join(",", (terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))) }
output "o6" { value = setunion((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])), ["c"]) }
output "o7" { value = setintersection((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])), ["a"]) }
output "o8" { value = setsubtract((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])), ["a"]) }
output "o9" { value = setproduct((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])), ["x", "y"]) }
output "o10" { value = contains((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])), "a") }
output "o11" { value = concat(tolist((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))), ["x"]) }
output "o12" { value = [for x in(terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])) : x] }
output "o13" { value = { for x in(terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])) : x => 1 } }
output "o14" { value = jsonencode((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))) }
output "o15" { value = coalescelist(tolist((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))), ["z"]) }
output "o16" { value = flatten([(terraform_data.z.id == "" ? toset(["a"]) : toset(["b"]))]) }
output "o17" { value = distinct(tolist((terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])))) }
