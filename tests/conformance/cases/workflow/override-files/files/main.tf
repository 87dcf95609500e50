variable "v" {
  type    = string
  default = "main"
}
locals {
  a = "main-a"
  b = "main-b"
}
resource "terraform_data" "x" {
  input            = "main"
  triggers_replace = "t"
  lifecycle {
    ignore_changes = [input]
  }
}
output "o" {
  value       = "main"
  description = "kept"
}
module "m" {
  source = "./m"
  name   = "main"
}
