module "a" {
  source = "./a"
}
module "z" {
  source = "./a/b"
}
resource "terraform_data" "m" {}
