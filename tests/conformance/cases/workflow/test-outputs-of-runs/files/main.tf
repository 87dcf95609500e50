variable "n" {
  default = 1
}
variable "text" {
  default = ""
}
output "n" { value = var.n }
output "text" { value = var.text }
