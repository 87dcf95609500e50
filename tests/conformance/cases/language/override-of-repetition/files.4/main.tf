resource "terraform_data" "a" {
  for_each = toset(["x"])
}
resource "terraform_data" "b" {
  count = 3
}
module "m" {
  source = "./m"
  for_each = toset(["y"])
}
