variable "n" { default = 1 }
resource "terraform_data" "a" { input = var.n }
