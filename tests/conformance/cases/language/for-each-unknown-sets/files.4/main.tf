variable "ports" {
  type    = list(number)
  default = [80]
}
resource "terraform_data" "a" {
  for_each = toset([1])
}
resource "terraform_data" "b" {
  for_each = sensitive(toset(var.ports))
}
