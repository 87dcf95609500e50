resource "terraform_data" "a" {
  input = "a"
}
resource "terraform_data" "b" {
  count = 2
  input = "b${count.index}"
}
resource "terraform_data" "c" {
  for_each = toset(["x", "y"])
  input    = each.key
}
module "m" {
  source = "./m"
}
