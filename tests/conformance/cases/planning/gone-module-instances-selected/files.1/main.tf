module "w" {
  for_each = toset(["c"])
  source   = "./m"
}
resource "terraform_data" "r" {
  for_each = toset(["c"])
}
