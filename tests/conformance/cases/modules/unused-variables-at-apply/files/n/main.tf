variable "v" {}
locals { a = tonumber(var.v) }
output "o" { value = local.a }
resource "terraform_data" "y" { input=1 }
