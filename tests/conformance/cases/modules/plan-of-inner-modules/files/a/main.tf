module "b" {
  source = "./b"
}
resource "terraform_data" "x" {}
