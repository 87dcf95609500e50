resource "terraform_data" "y" {}
resource "terraform_data" "z" { input = terraform_data.y.id }
