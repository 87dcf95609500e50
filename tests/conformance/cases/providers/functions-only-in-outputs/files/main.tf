terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "terraform_data" "a" {
}
output "o" {
  value = provider::lab::upper(terraform_data.a.id) == terraform_data.a.id
}
