variable "t" { default = "\n  first\n   second\n\n" }
resource "terraform_data" "t" { input = { text = var.t, json = jsonencode({ a = [1], b = var.t }) } }
output "t" { value = var.t }
output "doc" { value = " {\n \"a\": 1}\n" }
