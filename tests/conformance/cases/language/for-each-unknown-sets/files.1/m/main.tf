variable "ports" {
  type    = set(number)
  default = [80]
}
resource "terraform_data" "d" {
  for_each = var.ports
}
