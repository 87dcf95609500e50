variable "a" { default = "a" }
variable "b" { default = "b" }
output "ab" { value = "${var.a}${var.b}" }
