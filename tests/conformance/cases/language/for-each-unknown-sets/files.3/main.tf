variable "ports" {
  type    = list(number)
  default = [80]
}
resource "terraform_data" "a" {
  for_each = toset(var.ports)
}
