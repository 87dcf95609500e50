resource "terraform_data" "a" { input = "a" }
output "sorted" { value = sort([terraform_data.a.output, "b"]) }
output "length" { value = length(sort([terraform_data.a.output, "b"])) }
output "list" { value = tolist(toset([terraform_data.a.output, "b"])) }
output "one" { value = tolist(toset([terraform_data.a.output])) }
output "can" { value = can(range({ a = terraform_data.a.id, b = null })) }
