resource "terraform_data" "r" {
  for_each = toset(tolist([for x in [1] : x if x > 1]) == [] ? [] : [1])
}
variable "ports" {
  type    = set(number)
  default = []
}
variable "rules" {
  type    = list(object({ port = number }))
  default = []
}
resource "terraform_data" "a" {
  for_each = toset([for r in var.rules : r.port])
}
resource "terraform_data" "b" {
  for_each = toset(var.rules[*].port)
}
resource "terraform_data" "c" {
  for_each = toset(var.rules)
}
resource "terraform_data" "d" {
  for_each = setsubtract(var.ports, [1])
}
resource "terraform_data" "e" {
  for_each = toset(var.ports)
}
resource "terraform_data" "f" {
  for_each = toset(true ? [] : [1])
}
