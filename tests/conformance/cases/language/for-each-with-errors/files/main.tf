variable "k" {
  default = 7
}
locals {
  l = ["a", "b"]
  s = [["a"], ["b"]]
}
resource "terraform_data" "set" {
  for_each = toset([toest(var.k)])
}
resource "terraform_data" "in_map" {
  for_each = { a = toest(var.k) }
}
resource "terraform_data" "whole" {
  for_each = toest(var.k)
}
module "m" {
  source   = "./m"
  for_each = toset([toest(var.k)])
}
resource "terraform_data" "number" {
  count = toest(var.k)
}
resource "terraform_data" "tuple" {
  for_each = [toest(var.k)]
}
