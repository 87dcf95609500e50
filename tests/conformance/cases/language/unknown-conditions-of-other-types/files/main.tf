resource "terraform_data" "u" {
  input = { a = "x", l = [1, 2] }
}

output "object" { value = terraform_data.u.output ? 1 : 2 }
output "template" { value = "%{ if terraform_data.u.output.l }x%{ endif }" }
output "number" { value = length(terraform_data.u.id) ? "y" : "n" }
