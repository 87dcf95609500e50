module "m" {
 source="./m"
}
data "lab_region" "d" {
 depends_on=[module.m.r]
}
resource "terraform_data" "t" {
 input=data.lab_region.d.name
}
