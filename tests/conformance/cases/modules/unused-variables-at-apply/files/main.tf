resource "terraform_data" "x" { input="abc" }
module "m" {
 source="./m"
 v=terraform_data.x.output
}
module "n" {
 source="./n"
 v=terraform_data.x.output
}
