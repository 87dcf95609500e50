resource "terraform_data" "a" {
  count = 2
  for_each = {}
}
module "m" {
  count = 1
  for_each = {}
}
