variable "ports" {
  type    = set(number)
  default = [80]
}
resource "terraform_data" "a" {
  for_each = toset([80, terraform_data.b["x"].id])
}
resource "terraform_data" "b" {
  for_each = { x = 1 }
}
resource "terraform_data" "c" {
  for_each = toset([for x in ["1"] : tonumber(terraform_data.b["x"].id)])
}
data "terraform_remote_state" "c" {
  for_each = var.ports
  backend  = "local"
}
