resource "terraform_data" "z" { input = "q" }
output "o0" { value = toset(terraform_data.z.id == "" ? ["a"] : ["b"]) }
output "o1" { value = toset(tolist(terraform_data.z.id == "" ? ["a"] : ["b"])) }
output "o2" { value = toset(terraform_data.z.id == "" ? ["a", "c"] : ["b", "d"]) }
output "o3" { value = toset(terraform_data.z.id == "" ? [] : []) }
output "o4" { value = (terraform_data.z.id == "" ? toset(["a"]) : toset(["b"])) }
output "o5" { value = tolist(terraform_data.z.id == "" ? ["a"] : ["b"]) }
output "o6" { value = tomap(terraform_data.z.id == "" ? { a = 1 } : { a = 2 }) }
output "o7" { value = setunion(toset(terraform_data.z.id == "" ? ["a"] : ["b"])) }
output "o8" { value = toset(terraform_data.z.id == "" ? [{ a = 1 }] : [{ a = 2 }]) }
output "o9" { value = length(toset(terraform_data.z.id == "" ? ["a"] : ["b"])) }
output "o10" { value = [for x in toset(terraform_data.z.id == "" ? ["a"] : ["b"]) : "${x}!"] }
