resource "terraform_data" "a" {
  input = var.nope
}

module "m" {
  source = "./m"
}
