variable "k" {
  default = 7
}
locals {
  l = ["a", "b"]
  s = [["a"], ["b"]]
}
resource "terraform_data" "set" {
  for_each = toset([local.l[var.k]])
}
resource "terraform_data" "in_map" {
  for_each = { a = local.l[var.k] }
}
resource "terraform_data" "whole" {
  for_each = local.l[var.k]
}
module "m" {
  source   = "./m"
  for_each = toset([local.l[var.k]])
}
resource "terraform_data" "number" {
  count = local.l[var.k]
}
