resource "terraform_data" "k" {
  for_each = toset(["a", "b"])
  input    = each.key
}
module "m" {
  count  = 2
  source = "./m"
}
