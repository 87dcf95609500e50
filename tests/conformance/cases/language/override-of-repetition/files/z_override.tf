resource "terraform_data" "a" {
  count = 2
}
module "m" {
  count = 1
}
