locals {
  n = [local.n]
  m = local.n
}
output "x" {
  value = max([1])
}
output "y" {
  value = local.m.a
}
resource "terraform_data" "a" {
  input = local.n
  nope  = 1
}
resource "terraform_data" "b" {
  nope = 2
}
