module "w" {
  for_each = toset(["a", "c"])
  source   = "./m"
}
resource "terraform_data" "r" {
  for_each = toset(["a", "c"])
}
