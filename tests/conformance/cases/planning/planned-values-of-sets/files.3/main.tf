resource "lab_thing" "t" {
  name     = "t"
  replicas = []
}
