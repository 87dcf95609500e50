variable "v" {}

resource "terraform_data" "i" {
  count = 2
  input = var.v
}

output "o" {
  value = terraform_data.i[1].output
}
