variable "opt" {
  type     = string
  default  = "optd"
  nullable = false
}
resource "terraform_data" "d" {
  input = var.opt
}
data "lab_echo" "e" {
  value = var.opt
}
resource "lab_any" "a" {
  value = { v = var.opt }
}
output "all" {
  value = { opt = var.opt, td = terraform_data.d.output, echo = data.lab_echo.e.result, any = lab_any.a.value.v }
}
