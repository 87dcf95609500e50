resource "lab_thing" "t" {
  name  = "t"
  notes = [self.id, path.nope]
}
