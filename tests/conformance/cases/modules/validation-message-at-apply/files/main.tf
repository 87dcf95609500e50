
resource "terraform_data" "a" {
  input = "v"
}
module "m" {
  source = "./m"
  id     = terraform_data.a.id
}
