variable "a" { type = string }
variable "b" { default = "b" }
output "o" { value = "${var.a} ${var.b}" }
