variable "n" {}
resource "terraform_data" "x" {
  for_each = toset(["k"])
  input    = var.n
}
module "deep" { source = "../n" }
output "n" { value = terraform_data.x["k"].id }
output "u" { value = 1 }
