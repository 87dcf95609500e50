variable "given" {}

resource "terraform_data" "inside" {
  count = 2
  input = var.given
}

output "inside" {
  value = terraform_data.inside[1].input
}
