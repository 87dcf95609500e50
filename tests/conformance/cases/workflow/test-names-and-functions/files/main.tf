variable "text" { default = "" }
variable "list" {
  type    = list(number)
  default = []
}
output "text" { value = var.text }
output "list" { value = var.list }
