"""The robot model: links, joints, inertias and drives, read from files or tables, checked and immutable."""

from dalembert.robot.model.robot import Coupling as Coupling
from dalembert.robot.model.robot import Frame as Frame
from dalembert.robot.model.robot import Friction as Friction
from dalembert.robot.model.robot import Gear as Gear
from dalembert.robot.model.robot import Inertia as Inertia
from dalembert.robot.model.robot import Joint as Joint
from dalembert.robot.model.robot import Limits as Limits
from dalembert.robot.model.robot import Link as Link
from dalembert.robot.model.robot import Loop as Loop
from dalembert.robot.model.robot import Motor as Motor
from dalembert.robot.model.robot import Placement as Placement
from dalembert.robot.model.robot import Robot as Robot
from dalembert.robot.model.robot import Rotor as Rotor
from dalembert.robot.model.robot import Shape as Shape
