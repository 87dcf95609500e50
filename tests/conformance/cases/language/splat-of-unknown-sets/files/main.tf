resource "terraform_data" "z" { input = "q" }
output "o0" { value = (terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*] }
output "o1" { value = (terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*][*] }
output "o2" { value = length((terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*]) }
output "o3" { value = [for x in(terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"])) : x] }
output "o4" { value = tolist((terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))) }
output "o5" { value = (terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*] == null }
output "o6" { value = concat((terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*], ["x"]) }
output "o7" { value = jsonencode((terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*]) }
output "o8" { value = [(terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*]] }
output "o9" { value = toset((terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"]))[*]) }
output "o10" { value = (terraform_data.z.id == "" ? toset(["a", "b"]) : toset(["c", "d"])).* }
