resource "terraform_data" "z" { input = "q" }
variable "s" {
  default   = "x"
  sensitive = true
  ephemeral = true
}
variable "e" {
  default   = "x"
  ephemeral = true
}
output "c" { value = [sensitive("x"), var.e] }
output "d" { value = sensitive([var.e]) }
output "e" { value = [var.s] }
output "f" { value = "${var.s}!" }
output "g" { value = "${var.e}${sensitive("x")}" }
