terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "terraform_data" "t" {
}
output "o" {
  value = 1
}
