variable "v" { default = 1 }
output "x" { value = 1 }
resource "terraform_data" "n" { input = 1 }
resource "terraform_data" "v" { input = var.v }
